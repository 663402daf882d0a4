"""Guesses from its first bytes what a file is."""

from __future__ import annotations

import re

import msgspec

SAMPLE = 8192
MAX_STRANGE_SHARE = 0.3
STRANGE = re.compile("[\udc80-\udcff\x00-\x07\x0b\x0e-\x1a\x1c-\x1f]")


class Kind(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of file: its name for people, its media type."""

    name: str
    mime_type: str

    @property
    def is_text(self) -> bool:
        return self.mime_type == "text/plain"

    @property
    def is_image(self) -> bool:
        return self.mime_type in ("image/png", "image/jpeg", "image/gif", "image/webp")


TEXT = Kind(name="text", mime_type="text/plain")
BINARY = Kind(name="binary data", mime_type="application/octet-stream")
MAGIC = (
    (b"\x89PNG\r\n\x1a\n", "PNG image", "image/png"),
    (b"\xff\xd8\xff", "JPEG image", "image/jpeg"),
    (b"GIF87a", "GIF image", "image/gif"),
    (b"GIF89a", "GIF image", "image/gif"),
    (b"%PDF-", "PDF document", "application/pdf"),
    (b"PK\x03\x04", "ZIP archive (or a format built on it)", "application/zip"),
    (b"\x1f\x8b", "gzip data", "application/gzip"),
    (b"BZh", "bzip2 data", "application/x-bzip2"),
    (b"\xfd7zXZ\x00", "xz data", "application/x-xz"),
    (b"\x28\xb5\x2f\xfd", "zstandard data", "application/zstd"),
    (b"\x7fELF", "ELF program or library", "application/x-elf"),
    (b"\xcf\xfa\xed\xfe", "Mach-O program or library", "application/x-mach-binary"),
    (b"\xca\xfe\xba\xbe", "Java class or Mach-O universal binary", "application/octet-stream"),
    (b"SQLite format 3\x00", "SQLite database", "application/vnd.sqlite3"),
    (b"\xff\xfe", "UTF-16 text (convert it to UTF-8 to read it)", "text/plain; charset=utf-16"),
    (b"\xfe\xff", "UTF-16 text (convert it to UTF-8 to read it)", "text/plain; charset=utf-16"),
    (b"\x00asm", "WebAssembly module", "application/wasm"),
)


def kind_of(sample: bytes) -> Kind:
    """The kind of a file that starts with these bytes."""
    if sample[:4] == b"RIFF" and sample[8:12] == b"WEBP":
        return Kind(name="WebP image", mime_type="image/webp")
    for magic, name, mime_type in MAGIC:
        # Short marks could start a text as well, the longer ones hardly.
        if sample.startswith(magic) and (len(magic) > 3 or not looks_like_text(sample)):
            return Kind(name=name, mime_type=mime_type)
    return TEXT if looks_like_text(sample) else BINARY


def looks_like_text(sample: bytes) -> bool:
    """No NUL, and not too much that is neither UTF-8 nor printable."""
    if b"\0" in sample:
        return False
    text = sample.decode("utf-8", "surrogateescape")
    return len(STRANGE.findall(text)) <= len(text) * MAX_STRANGE_SHARE
