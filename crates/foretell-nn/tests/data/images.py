#!/usr/bin/env python3
"""Writes halves.jpeg: a grey picture of 64 × 64 pixels, 200 in the left half and 60 in the right.

    python3 crates/foretell-nn/tests/data/images.py      # needs Pillow
"""

from pathlib import Path

from PIL import Image

picture = Image.new("RGB", (64, 64), (60, 60, 60))
picture.paste((200, 200, 200), (0, 0, 32, 64))
picture.save(Path(__file__).parent / "halves.jpeg", quality=90)
