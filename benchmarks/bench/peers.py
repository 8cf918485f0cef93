"""Other libraries' own Swins for dense prediction, with our weights, as their users build them."""

from __future__ import annotations

import tempfile

import swin_mm
from bench.networks import Entrant, State
from swin_mm.checkpoints import convert


def enter_timm(variant: str, state: State, size: tuple[int, int]) -> Entrant:
    """Build timm's, for pictures of one size, so that it makes its masks beforehand."""
    import timm

    net = timm.create_model(
        f"swin_{variant}_patch4_window7_224",
        features_only=True,
        img_size=size,
        window_size=7,
        drop_path_rate=0.0,
    )
    tensors = convert(state, "timm", allow_loss=True).tensors
    # A network of features is flat: its stages are no longer in a sequence.
    wanted = {name.replace("layers.", "layers_", 1): t for name, t in tensors.items()}
    net.load_state_dict({name: t for name, t in wanted.items() if not name.startswith("norm.")})
    return Entrant(net, net, bare=True)


def enter_torchvision(variant: str, state: State) -> Entrant:
    """Build torchvision's and extract what stands behind its stages."""
    from torchvision.models import SwinTransformer
    from torchvision.models.feature_extraction import create_feature_extractor

    sizes = swin_mm.VARIANTS[variant]
    net = SwinTransformer(
        patch_size=[4, 4],
        embed_dim=sizes.embed_dims,
        depths=list(sizes.depths),
        num_heads=list(sizes.num_heads),
        window_size=[7, 7],
        stochastic_depth_prob=0.0,
    )
    tensors = convert(state, "torchvision", allow_loss=True).tensors
    missing, unexpected = net.load_state_dict(tensors, strict=False)
    _demand_all([name for name in missing if not name.startswith("head.")], unexpected)
    stages = {f"features.{1 + 2 * stage}": str(stage) for stage in range(len(sizes.depths))}
    extractor = create_feature_extractor(net, stages)
    return Entrant(lambda x: list(extractor(x).values()), extractor, bare=True)


def enter_huggingface(variant: str, state: State) -> Entrant:
    """Build transformers' backbone, read from a folder as it is saved."""
    from safetensors.torch import save_file
    from transformers import SwinBackbone, SwinConfig
    from transformers.utils import logging

    logging.disable_progress_bar()
    sizes = swin_mm.VARIANTS[variant]
    config = SwinConfig(
        embed_dim=sizes.embed_dims,
        depths=list(sizes.depths),
        num_heads=list(sizes.num_heads),
        window_size=7,
        drop_path_rate=0.0,
        out_features=[f"stage{1 + stage}" for stage in range(len(sizes.depths))],
    )
    tensors = convert(state, "huggingface-backbone").tensors
    with tempfile.TemporaryDirectory() as folder:
        config.save_pretrained(folder)
        whole = {name: tensor.clone().contiguous() for name, tensor in tensors.items()}
        save_file(whole, f"{folder}/model.safetensors", metadata={"format": "pt"})
        net, said = SwinBackbone.from_pretrained(folder, output_loading_info=True)
    _demand_all(list(said["missing_keys"]), list(said["unexpected_keys"]))
    return Entrant(lambda x: net(x).feature_maps, net)


def _demand_all(missing: list[str], unexpected: list[str]) -> None:
    if missing or unexpected:
        raise ValueError(
            f"a converted file must fill a peer's network; missing {missing[:3]}, "
            f"unexpected {unexpected[:3]}"
        )
