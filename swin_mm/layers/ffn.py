"""The feed-forward network of a block."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor, nn

ActivationFactory = Callable[[], nn.Module]


class FFN(nn.Module):
    """Two linear layers with an activation between, token by token.

    ``layers.0.0`` and ``layers.1`` are the linear layers: MMCV's names.

    Args:
        embed_dims: channels, C.
        feedforward_channels: channels in between.
        activation: makes the activation.
        drop_rate: share to drop after each linear layer in training.
    """

    def __init__(
        self,
        embed_dims: int,
        feedforward_channels: int,
        *,
        activation: ActivationFactory,
        drop_rate: float = 0.0,
    ) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Sequential(
                nn.Linear(embed_dims, feedforward_channels), activation(), nn.Dropout(drop_rate)
            ),
            nn.Linear(feedforward_channels, embed_dims),
            nn.Dropout(drop_rate),
        )

    def forward(self, x: Tensor) -> Tensor:
        """Map tokens (B, H, W, C) to tokens of the same shape."""
        return self.layers(x)

    def is_plain(self) -> bool:
        """Say whether it is made of linear layers, exact GELU and dropout, and of nothing else."""
        if [type(one) for one in self.layers] != [nn.Sequential, nn.Linear, nn.Dropout]:
            return False
        inner = self.layers[0]
        if [type(one) for one in inner] != [nn.Linear, nn.GELU, nn.Dropout]:
            return False
        return inner[1].approximate == "none"
