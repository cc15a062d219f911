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


def runLayer(module, w, x):
    module.load_state_dict({key[len("rnn."):]: value for key, value in w.items()})
    return module(x)


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

torchLayer("rnn_bidirectional", layer("RNN", bidirectional=True, num_layers=2), "rnn(x, 6, layers = 2, bidirectional = true)", ("y", "h"))
torchLayer("rnn_no_bias", layer("RNN", bias=False), "rnn(x, 6, bias = false)", ("y", "h"))
torchLayer("rnn_one_unit", layer("RNN", hidden=1), "rnn(x, 1)", ("y", "h"))
torchLayer("lstm_bidirectional_three_layers", layer("LSTM", num_layers=3, bidirectional=True),
           "lstm(x, 6, layers = 3, bidirectional = true)", ("y", "h", "c"))
torchLayer("lstm_one_unit", layer("LSTM", hidden=1), "lstm(x, 1)", ("y", "h", "c"))
torchLayer("gru_bidirectional_two_layers", layer("GRU", num_layers=2, bidirectional=True),
           "gru(x, 6, layers = 2, bidirectional = true)", ("y", "h"))
torchLayer("gru_no_bias", layer("GRU", bias=False), "gru(x, 6, bias = false)", ("y", "h"))
torchLayer("gru_wide", layer("GRU", hidden=35), "gru(x, 35)", ("y", "h"))
torchLayer("gru_dropout_at_inference", layer("GRU", num_layers=2, dropout=0.5).eval(), "gru(x, 6, layers = 2, dropout = 0.5)", ("y", "h"))


def timeFirst(kind, results):
    """[T, N, features], and a single step."""
    module = getattr(torch.nn, kind)(5, 6)
    name, names = kind.lower(), ", ".join(results)

    def run(w, x):
        module.load_state_dict({key[len("rnn."):]: value for key, value in w.items()})
        y, state = module(x)
        return dict(zip(results, (y, *(state if isinstance(state, tuple) else (state,)))))

    weights = lambda case: {f"rnn.{key}": case.uniform(-0.5, 0.5, *value.shape) for key, value in module.state_dict().items()}
    text = f"{names} = {name}(x, 6, batch_first = false) as rnn\nreturn {names}"
    family.add(f"{name}_time_first", text, lambda case: {"x": case.normal(7, 3, 5)}, run, weights, dims={"x": "T, N, 5"})
    family.add(f"{name}_one_step", text, lambda case: {"x": case.normal(1, 4, 5)}, run, weights, batched=False)


for kind, results in (("RNN", ("y", "h")), ("LSTM", ("y", "h", "c")), ("GRU", ("y", "h"))):
    timeFirst(kind, results)


def withStates(name, module, text, states, results, layers, hidden):
    """Initial states, and a sequence length that is known only when the model runs."""
    def run(w, x, *initial):
        module.load_state_dict({key[len("rnn."):]: value for key, value in w.items()})
        y, state = module(x, initial if len(initial) > 1 else initial[0])
        return dict(zip(results, (y, *(state if isinstance(state, tuple) else (state,)))))

    names = ", ".join(results)
    family.add(name, f"{names} = {text} as rnn\nreturn {names}",
               lambda case: {"x": case.normal(3, 7, 5), **{state: case.normal(layers, 3, hidden) for state in states}}, run,
               lambda case: {f"rnn.{key}": case.uniform(-0.5, 0.5, *value.shape) for key, value in module.state_dict().items()},
               dims={"x": "N, T, 5", **{state: f"{layers}, N, {hidden}" for state in states}})


withStates("rnn_initial_state", layer("RNN"), "rnn(x, 6, h0 = h0)", ["h0"], ("y", "h"), 1, 6)
withStates("lstm_initial_states", layer("LSTM", num_layers=2, bidirectional=True),
           "lstm(x, 6, layers = 2, bidirectional = true, h0 = h0, c0 = c0)", ["h0", "c0"], ("y", "h", "c"), 4, 6)
withStates("gru_initial_state", layer("GRU", num_layers=2, hidden=17), "gru(x, 17, layers = 2, h0 = h0)", ["h0"], ("y", "h"), 2, 17)


def kerasRelu(w, x):
    h, steps = torch.zeros(x.shape[0], w["recurrent_kernel"].shape[0]), []
    for t in range(x.shape[1]):
        h = torch.relu(x[:, t] @ w["kernel"] + h @ w["recurrent_kernel"])
        steps.append(h)
    return {"y": torch.stack(steps, 1), "last": h}


family.add("simple_rnn_relu_no_bias", 'y, last = simple_rnn(x, 4, bias = false, activation = "relu") as .\nreturn y, last',
           lambda case: {"x": case.normal(3, 6, 5)}, kerasRelu,
           lambda case: {"kernel": case.normal(5, 4, scale=0.4), "recurrent_kernel": case.normal(4, 4, scale=0.3)})
# Only the last state is used: what is not read may be left out, but not the steps that lead there.
family.add("lstm_last_state_only", "y, h, c = lstm(x, 6) as rnn\nlast = h[0] + c[0]\nreturn last",
           lambda case: {"x": case.normal(3, 7, 5)},
           lambda w, x: {"last": sum(state[0] for state in runLayer(layer("LSTM"), w, x)[1])},
           lambda case: {f"rnn.{key}": case.uniform(-0.5, 0.5, *value.shape) for key, value in layer("LSTM").state_dict().items()})
