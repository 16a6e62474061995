"""Soft top-r over ragged groups: weights in [0, 1] whose mean over every group is exactly r."""

import torch

from gsina import soft_top_r

scores = torch.tensor([2.0, -1.0, 0.5, 3.0, 0.0], requires_grad=True)
group = torch.tensor([0, 0, 0, 1, 1])  # three scores in one group, two in the other

for temperature in (0.1, 1.0, 10.0):
    weights = soft_top_r(scores, 0.4, group, temperature=temperature)
    print(f"temperature {temperature:4}:", [round(weight, 3) for weight in weights.tolist()])

soft_top_r(scores, 0.4, group)[0].backward()  # differentiable: raise one score, lower the others
print("gradient of the first weight:", [round(value, 3) for value in scores.grad.tolist()])
