"""The built-in BERT."""

import torch

from perftests import bert, models

TINY = bert.BertConfig(layers=2, hidden=8, heads=2, intermediate=16, vocabulary=50, positions=12)


def test_bert_base_has_the_published_number_of_parameters() -> None:
    """BERT-base cased with a question-answering head and without a pooler: 107 721 218.

    Embeddings (28 996 + 512 + 2) x 768 and a norm; 12 layers of 7 087 872; a head of 768 x 2 + 2.
    """
    with torch.device("meta"):
        model = models.find("bert_base").build()
    assert sum(parameter.numel() for parameter in model.parameters()) == 107_721_218


def test_it_gives_a_start_and_an_end_for_every_token() -> None:
    """Two logits a token."""
    start, end = bert.BertForQuestionAnswering(TINY)(torch.randint(50, (3, 7)))
    assert start.shape == end.shape == (3, 7)


def test_attention_is_softmax_of_scaled_products() -> None:
    """One layer's attention equals the formula written out (Vaswani et al., 2017, equation 1), per head."""
    layer = bert.BertForQuestionAnswering(TINY).eval().layers[0]
    x = torch.randn(2, 5, 8)
    heads = []
    for head in range(2):
        part = slice(4 * head, 4 * head + 4)
        query, key, value = (linear(x)[..., part] for linear in (layer.query, layer.key, layer.value))
        heads.append(torch.softmax(query @ key.transpose(1, 2) / 2.0, dim=-1) @ value)
    assert torch.allclose(layer._attend(x), torch.cat(heads, dim=-1), atol=1e-6)


def test_order_matters() -> None:
    """Positions are embedded: the same tokens in another order give other logits for the same token."""
    model = bert.BertForQuestionAnswering(TINY).eval()
    forward, backward = (model(torch.tensor([tokens]))[0][0] for tokens in ([3, 4, 5], [5, 4, 3]))
    assert not torch.allclose(forward, backward.flip(0))


def test_dropout_is_for_training() -> None:
    """Evaluation is deterministic, training isn't."""
    model, tokens = bert.BertForQuestionAnswering(TINY), torch.randint(50, (2, 12))
    assert not torch.equal(model(tokens)[0], model(tokens)[0])
    model.eval()
    assert torch.equal(model(tokens)[0], model(tokens)[0])


def test_weights_start_as_published() -> None:
    """Normal with standard deviation 0.02, biases zero, norms one."""
    torch.manual_seed(0)
    layer = bert.BertForQuestionAnswering(bert.BertConfig(layers=1, vocabulary=10)).layers[0]
    assert abs(layer.widen.weight.std().item() - 0.02) < 1e-4
    assert layer.widen.bias.count_nonzero() == 0
    assert torch.equal(layer.output_norm.weight, torch.ones(768))


def test_the_loss_is_the_mean_over_start_and_end() -> None:
    """A certain start and an even end cost half of log(2)."""
    start, end = torch.tensor([[0.0, 50.0]]), torch.zeros(1, 2)
    loss = models.find("bert_base").loss((start, end), torch.tensor([[1, 0]]))
    assert torch.isclose(loss, torch.tensor(0.6931472 / 2))
