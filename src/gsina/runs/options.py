"""Options of loaders, methods and backbones, checked by the signatures that they go to."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import is_dataclass
from functools import cache
from typing import Any, Literal, get_args, get_origin, get_type_hints

from pydantic import ConfigDict, TypeAdapter, ValidationError

from gsina.errors import InputError, check_name


def check_options(
    make: Callable[..., Any], options: dict[str, Any], what: str, leave_out: Collection[str] = ()
) -> None:
    """Check options against the signature of the function or class that they go to.

    Args:
        make: Takes the options as keyword arguments.
        options: Names and values.
        what: For the message: ``"method gsina"``.
        leave_out: Arguments that are no options.

    Raises:
        InputError: An option does not exist (with the nearest name) or has another type.
    """
    parameters, hints = signature_of(make)
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
        return
    for option, value in options.items():
        check_name(
            option, [name for name in parameters if name not in leave_out], f"option of {what}"
        )
        annotation = hints.get(option, parameters[option].annotation)
        if get_origin(annotation) is Literal and isinstance(value, str):
            check_name(value, get_args(annotation), f"value of option {option} of {what}")
        try:
            _adapter(make, option).validate_python(value, strict=True)
        except ValidationError as error:
            message = error.errors()[0]["msg"]
            raise InputError(f"option {option} of {what}: {message}, got {value!r}.") from error


# A table has hundreds of recipes of a few methods, and inspecting a signature is slow.
@cache
def signature_of(
    make: Callable[..., Any],
) -> tuple[Mapping[str, inspect.Parameter], dict[str, Any]]:
    """Parameters of a function or class, and the types of a class's fields."""
    settings = is_dataclass(make)  # its fields may come from modules with other imports
    parameters = inspect.signature(make, eval_str=not settings).parameters
    return parameters, get_type_hints(make) if settings else {}


@cache
def _adapter(make: Callable[..., Any], option: str) -> TypeAdapter[Any]:
    parameters, hints = signature_of(make)
    annotation = hints.get(option, parameters[option].annotation)
    return TypeAdapter(annotation, config=ConfigDict(arbitrary_types_allowed=True))


def changed_options(make: Callable[..., Any], options: dict[str, Any]) -> dict[str, Any]:
    """The options that differ from their defaults."""
    known = signature_of(make)[0]
    return {
        name: value
        for name, value in options.items()
        if not (name in known and known[name].default == value)
    }
