from torch import nn


class ViT(nn.Module):
    """A patch embedding and positions.

    nparam: 1_808
    """

    def __init__(self, image_size, patch_size, dim=16):
        super().__init__()
        patches = (image_size // patch_size) ** 2
        self.patch = nn.Linear(3 * patch_size**2, dim)
        self.positions = nn.Embedding(patches, dim)
