"""How Sphinx makes the site, and what it does about names that are in no page."""

from __future__ import annotations

import inspect
from importlib import import_module
from pathlib import Path
from typing import Any

from docs.site.reference import public

SETTINGS: dict[str, Any] = {
    "project": "gsina",
    "copyright": "the gsina maintainers",
    "extensions": [
        "myst_parser",
        "sphinx.ext.autodoc",
        "sphinx.ext.napoleon",
        "sphinx.ext.viewcode",
        "sphinx_copybutton",
        "docs.site.settings",
    ],
    "root_doc": "index",
    "nitpicky": True,
    "default_role": "py:obj",
    "myst_heading_anchors": 4,
    "autodoc_member_order": "bysource",
    "autodoc_typehints_format": "short",
    "python_maximum_signature_line_length": 80,
    "toc_object_entries_show_parents": "hide",
    "napoleon_google_docstring": True,
    "napoleon_numpy_docstring": False,
    "napoleon_custom_sections": [("Attributes", "params_style")],
    "html_theme": "furo",
    "html_title": "gsina",
    "html_static_path": [str(Path(__file__).parent / "static")],
    "html_css_files": ["site.css"],
    "html_show_sphinx": False,
    "html_copy_source": False,
    "copybutton_prompt_text": "$ ",
}


def setup(app: Any) -> dict[str, bool]:
    """Connect what is below."""
    app.connect("missing-reference", find_name)
    app.connect("autodoc-skip-member", is_foreign)
    app.connect("autodoc-process-signature", readable_signature)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def readable_signature(
    app: Any, what: str, name: str, value: Any, options: Any, signature: str | None, returns: str
) -> tuple[str | None, str]:
    """The signature with ``...`` for a default that is made anew, which Sphinx cannot parse."""
    return signature and signature.replace("<factory>", "..."), returns


def is_foreign(app: Any, what: str, name: str, value: Any, skip: bool, options: Any) -> bool | None:
    """Whether to leave out a member: what Python and scikit-learn add by themselves."""
    added = name.startswith("set_") and name.endswith("_request")
    return True if added or str(value.__doc__).startswith("Alias for field") else None


def find_name(app: Any, env: Any, node: Any, text: Any) -> Any:
    """The page of a name that is documented under another, or its plain text if it has none.

    A name of this package that does not exist stays unresolved, and so fails the build.
    """
    if node.get("refdomain") != "py":
        return None
    target = node["reftarget"]
    known = _known(target)
    if known is not None:
        domain = env.get_domain("py")
        found = domain.resolve_xref(env, node["refdoc"], app.builder, "obj", known, node, text)
        if found is not None:
            return found
    if target.startswith("gsina."):
        return text if _exists(target) else None
    return text


def _known(target: str) -> str | None:
    """The name under which the reference has an object, given where it is defined."""
    names = {name: value for page in public().values() for name, value in page.items()}
    for name, value in names.items():
        module = getattr(value, "__module__", None)
        full = f"{module}.{getattr(value, '__qualname__', '')}"
        if target in (name, full) or ("." not in target and full.rpartition(".")[2] == target):
            return name
        if inspect.isclass(value) and target.startswith(f"{full}."):
            return name + target.removeprefix(full)
    return None


def _exists(target: str) -> bool:
    """Whether a full name means something, in a page or not."""
    parts = target.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            value: Any = import_module(".".join(parts[:cut]))
        except ImportError:
            continue
        for part in parts[cut:]:
            if not hasattr(value, part) and part not in getattr(value, "__annotations__", {}):
                return False
            value = getattr(value, part, None)
        return True
    return False
