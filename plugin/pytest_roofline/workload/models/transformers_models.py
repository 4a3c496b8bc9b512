"""transformers' models, as ``hf:MODEL_TYPE`` (its default configuration) or ``hf:PATH/config.json``.

Weights are random: nothing is downloaded. A model is the one that ``AutoModel`` makes, which ends in features.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import os
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pytest_roofline.missing import reason_of
from pytest_roofline.workload.models.spec import ModelSpec, UnknownModel
from roofline.files.decoding import ReadError, text_of

_TOKENS = 128
"""Length of a sequence; less where a model takes no more."""

_SUFFIX = ".json"


def label(text: str) -> str:
    """The name in ids: ``hf_bert``; of a file its model type and a mark of its content, ``hf_bert_1a2b3c4d``.

    :raises UnknownModel: the file can't be read.
    """
    if not text.endswith(_SUFFIX):
        return f"hf_{text}"
    values = _read(text)
    content = json.dumps(values, sort_keys=True).encode()
    return f"hf_{values['model_type']}_{hashlib.sha256(content).hexdigest()[:8]}"


def check(text: str) -> None:
    """Make sure that there is a model for what follows ``hf:``. Imports transformers, builds nothing.

    :raises UnknownModel: transformers isn't installed or has no such type, the file is none of its configurations, or
        the model takes neither tokens nor images.
    """
    _main_input(text, _config(text))


def find(text: str) -> ModelSpec:
    """The model, which has been checked."""
    from pytest_roofline.workload.models import losses
    from pytest_roofline.workload.models.transformers_wrapper import build

    config = _config(text)
    values = {
        key: value for key, value in json.loads(config.to_json_string(use_diff=False)).items() if key not in _NOISE
    }
    images = _main_input(text, config) == "pixel_values"
    sizes = config.get_text_config() if not images else config
    return ModelSpec(
        name=label(text),
        build=partial(build, config),
        input_shape=_image_shape(sizes) if images else (_length(sizes),),
        input_kind="image" if images else "tokens",
        classes=2,  # no target is looked at
        sample_unit="image" if images else "sequence",
        loss=losses.mean_square,
        loss_name="mean_square",
        vocabulary=None if images else sizes.vocab_size,
        architecture={"config": values},
    )


_NOISE = frozenset({"transformers_version", "_name_or_path", "architectures"})
"""What a configuration says that doesn't change the work."""


def _read(text: str) -> dict[str, Any]:
    try:
        values = json.loads(text_of(Path(os.path.expanduser(text)), "Give a configuration of transformers."))
    except ReadError as error:
        raise UnknownModel(f"hf:{error}") from error
    except (ValueError, RecursionError) as error:
        raise UnknownModel(f"hf:{text} is no JSON: {error}") from error
    if not isinstance(values, dict) or not isinstance(values.get("model_type"), str):
        raise UnknownModel(f"hf:{text} is no configuration of transformers: it has no text under 'model_type'")
    return values


def _config(text: str) -> Any:
    if find_spec("transformers") is None:
        raise UnknownModel(f'hf:{text} needs transformers, which is not installed: pip install "pytest-roofline[hf]"')
    import transformers
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    values = _read(text) if text.endswith(_SUFFIX) else {"model_type": text}
    kind = values.pop("model_type")
    if kind not in CONFIG_MAPPING:
        # Its length doesn't count types that are loaded when they are asked for.
        types = list(CONFIG_MAPPING)
        near = difflib.get_close_matches(kind.lower(), types, n=3)
        hint = f"; near matches: {', '.join(f'hf:{one}' for one in near)}" if near else ""
        raise UnknownModel(
            f"hf:{text}: transformers {transformers.__version__} has no model type {kind!r}{hint}; "
            f"use one of its {len(types)} types, or the path of a config.json"
        )
    try:
        return transformers.AutoConfig.for_model(kind, **values)
    except Exception as error:
        # What a configuration makes of a wrong value is its own: each type and version raises something else.
        raise UnknownModel(f"hf:{text}: transformers takes no such configuration: {reason_of(error)}") from error


def _main_input(text: str, config: Any) -> str:
    """Name of what the model is fed: ``input_ids`` or ``pixel_values``."""
    from transformers.models.auto.modeling_auto import MODEL_MAPPING

    if type(config) not in MODEL_MAPPING:
        raise UnknownModel(f"hf:{text}: transformers' AutoModel makes no model of {type(config).__name__}")
    kind: Any = MODEL_MAPPING[type(config)]
    name = str((kind[0] if isinstance(kind, tuple) else kind).main_input_name)
    if name == "pixel_values" and not hasattr(config, "image_size"):
        raise UnknownModel(f"hf:{text}: its configuration says no image_size; it can't be fed")
    if name not in ("input_ids", "pixel_values"):
        raise UnknownModel(f"hf:{text} takes {name}; models that take tokens (input_ids) or images can be fed")
    return name


def _image_shape(config: Any) -> tuple[int, int, int]:
    size = config.image_size
    height, width = (size, size) if isinstance(size, int) else size
    return (getattr(config, "num_channels", 3), height, width)


def _length(config: Any) -> int:
    return min(_TOKENS, getattr(config, "max_position_embeddings", None) or _TOKENS)
