"""Simple RNN as Keras and as PyTorch have it, LSTM and GRU: layers, directions, initial states."""

import torch

from cases import Family

family = Family("recurrent")


def keras(w, x):
    h, steps = torch.zeros(x.shape[0], w["recurrent_kernel"].shape[0]), []
    for t in range(x.shape[1]):
        h = torch.tanh(x[:, t] @ w["kernel"] + h @ w["recurrent_kernel"] + w["bias"])
        steps.append(h)
    return {"y": torch.stack(steps, 1), "last": h}


family.add("simple_rnn", "y, last = simple_rnn(x, 9) as .\nreturn y, last", lambda case: {"x": case.normal(3, 6, 5)}, keras,
           lambda case: {"kernel": case.normal(5, 9, scale=0.4), "recurrent_kernel": case.normal(9, 9, scale=0.3),
                         "bias": case.normal(9, scale=0.3)})


def torchLayer(name, module, text, results):
    """`module` is PyTorch's layer; its weights are drawn from the case and loaded into it."""
    def weights(case):
        w = {}
        for key, value in module.state_dict().items():
            w[f"rnn.{key}"] = case.uniform(-0.5, 0.5, *value.shape)
        return w

    def expect(w, x):
        module.load_state_dict({key[len("rnn."):]: value for key, value in w.items()})
        y, state = module(x)
        states = state if isinstance(state, tuple) else (state,)
        return dict(zip(results, (y, *states)))

    names = ", ".join(results)
    family.add(name, f"{names} = {text} as rnn\nreturn {names}", lambda case: {"x": case.normal(3, 7, 5)}, expect, weights)


def layer(kind, **options):
    return getattr(torch.nn, kind)(5, options.pop("hidden", 6), batch_first=True, **options)


torchLayer("rnn", layer("RNN"), "rnn(x, 6)", ("y", "h"))
torchLayer("rnn_relu", layer("RNN", nonlinearity="relu"), 'rnn(x, 6, activation = "relu")', ("y", "h"))
torchLayer("rnn_two_layers", layer("RNN", num_layers=2), "rnn(x, 6, layers = 2)", ("y", "h"))
torchLayer("lstm", layer("LSTM"), "lstm(x, 6)", ("y", "h", "c"))
torchLayer("lstm_wide", layer("LSTM", hidden=19), "lstm(x, 19)", ("y", "h", "c"))
torchLayer("lstm_two_layers", layer("LSTM", num_layers=2), "lstm(x, 6, layers = 2)", ("y", "h", "c"))
torchLayer("lstm_bidirectional", layer("LSTM", bidirectional=True), "lstm(x, 6, bidirectional = true)", ("y", "h", "c"))
torchLayer("lstm_no_bias", layer("LSTM", bias=False), "lstm(x, 6, bias = false)", ("y", "h", "c"))
torchLayer("gru", layer("GRU"), "gru(x, 6)", ("y", "h"))
torchLayer("gru_two_layers", layer("GRU", num_layers=2), "gru(x, 6, layers = 2)", ("y", "h"))
torchLayer("gru_bidirectional", layer("GRU", bidirectional=True), "gru(x, 6, bidirectional = true)", ("y", "h"))
