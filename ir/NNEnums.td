// Enumerations that ops of the nn dialect take as attributes.
#ifndef NNCC_IR_NNENUMS_TD
#define NNCC_IR_NNENUMS_TD

include "ir/NNBase.td"

class NN_Enum<string name, string text, list<I32EnumAttrCase> cases> : I32EnumAttr<name, text, cases> {
  let cppNamespace = "::nncc::nn";
  let genSpecializedAttr = 0;
}

def NN_PadMode : NN_Enum<"PadMode", "What stands outside a padded tensor", [
  I32EnumAttrCase<"Constant", 0, "constant">, I32EnumAttrCase<"Reflect", 1, "reflect">,
  I32EnumAttrCase<"Replicate", 2, "replicate">, I32EnumAttrCase<"Circular", 3, "circular">]>;
def NN_PadModeAttr : EnumAttr<NN_Dialect, NN_PadMode, "pad_mode">;

def NN_ResizeMode : NN_Enum<"ResizeMode", "How a resized tensor is interpolated", [
  I32EnumAttrCase<"Nearest", 0, "nearest">, I32EnumAttrCase<"Linear", 1, "linear">]>;
def NN_ResizeModeAttr : EnumAttr<NN_Dialect, NN_ResizeMode, "resize_mode">;

def NN_ResizeCoordinates : NN_Enum<"ResizeCoordinates", "Which source position a resized position reads", [
  I32EnumAttrCase<"HalfPixel", 0, "half_pixel">, I32EnumAttrCase<"AlignCorners", 1, "align_corners">,
  I32EnumAttrCase<"Asymmetric", 2, "asymmetric">]>;
def NN_ResizeCoordinatesAttr : EnumAttr<NN_Dialect, NN_ResizeCoordinates, "resize_coordinates">;

def NN_RnnActivation : NN_Enum<"RnnActivation", "The activation of a simple recurrent cell", [
  I32EnumAttrCase<"Tanh", 0, "tanh">, I32EnumAttrCase<"Relu", 1, "relu">]>;
def NN_RnnActivationAttr : EnumAttr<NN_Dialect, NN_RnnActivation, "rnn_activation">;

def NN_RecurrentCell : NN_Enum<"RecurrentCell", "What a recurrent layer computes in one step", [
  I32EnumAttrCase<"RnnTanh", 0, "rnn_tanh">, I32EnumAttrCase<"RnnRelu", 1, "rnn_relu">, I32EnumAttrCase<"Lstm", 2, "lstm">,
  I32EnumAttrCase<"Gru", 3, "gru">, I32EnumAttrCase<"GruResetBefore", 4, "gru_reset_before">]>;
def NN_RecurrentCellAttr : EnumAttr<NN_Dialect, NN_RecurrentCell, "recurrent_cell">;

#endif // NNCC_IR_NNENUMS_TD
