"""Reads changes of recall's stages and weights from text: `links=false,words=0.3`."""

from dataclasses import asdict, fields, replace

from memsvc.service.recall.tuning import DEFAULT, Tuning

__all__ = ["changed", "single_changes", "switched_off"]

_FLAGS = {"true": True, "on": True, "1": True, "false": False, "off": False, "0": False}


def changed(text: str, base: Tuning = DEFAULT) -> Tuning:
    """`base` with the fields that the text names. Raises ValueError, which says what is legal."""
    values = asdict(base)
    for part in filter(None, (one.strip() for one in text.split(","))):
        name, found, value = (piece.strip() for piece in part.partition("="))
        if name not in values or not found:
            raise ValueError(f"{part!r} is no name=value; the names are {', '.join(values)}")
        values[name] = _read(name, value, values[name])
    return replace(base, **values)


def single_changes(extra: list[str]) -> dict[str, Tuning]:
    """What an ablation compares: the defaults, each switch turned over, and what `extra` lists."""
    texts = [*switched_off(), *extra]
    return {"default": DEFAULT} | {text: changed(text) for text in dict.fromkeys(texts)}


def switched_off() -> list[str]:
    """Every field that is a switch, turned over."""
    values = {one.name: getattr(DEFAULT, one.name) for one in fields(DEFAULT)}
    return [f"{name}={str(not on).lower()}" for name, on in values.items() if isinstance(on, bool)]


def _read(name: str, text: str, now: object) -> object:
    try:
        if isinstance(now, bool):
            return _FLAGS[text.lower()]
        return type(now)(text) if isinstance(now, int | float) else text
    except (KeyError, ValueError) as error:
        kind = type(now).__name__
        raise ValueError(f"{name} is a {kind}; {text!r} is none") from error
