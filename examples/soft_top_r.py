"""Soft top-r over ragged groups: weights in [0, 1] whose mean over every group is exactly r."""

# %% [markdown]
# Which of these scores are among the largest 40 % of their group? A hard top-r answers with 0 and
# 1, and has no gradient. `soft_top_r` answers with weights between, and their sum is still exactly
# 40 % of the group's size. Groups may have any sizes; nothing is padded and nothing loops.

# %%
import torch

from gsina import soft_top_r

scores = torch.tensor([2.0, -1.0, 0.5, 3.0, 0.0], requires_grad=True)
group = torch.tensor([0, 0, 0, 1, 1])  # three scores in one group, two in the other

for temperature in (0.1, 1.0, 10.0):
    weights = soft_top_r(scores, 0.4, group, temperature=temperature)
    print(f"temperature {temperature:4}:", [round(weight, 3) for weight in weights.tolist()])

# %% [markdown]
# A low temperature comes near the hard answer, a high one makes all weights equal. The mean of
# every group is the ratio at each of them:

# %%
print("means:", weights[:3].mean().item(), weights[3:].mean().item())

# %% [markdown]
# The weights are differentiable: to raise one is to raise its score and lower the others of its
# group. The gradient comes from the implicit function theorem, so it costs no iterations.

# %%
soft_top_r(scores, 0.4, group)[0].backward()
print("gradient of the first weight:", [round(value, 3) for value in scores.grad.tolist()])

# %% [markdown]
# The ratio may differ from group to group, and be learned: it has a gradient too.

# %%
ratio = torch.tensor([0.4, 0.9], requires_grad=True)
weights = soft_top_r(scores.detach(), ratio, group)
print("means:", [round(part.mean().item(), 3) for part in weights.split([3, 2])])
weights[3].backward()
print("gradient by the ratios:", [round(value, 3) for value in ratio.grad.tolist()])
