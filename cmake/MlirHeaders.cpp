// The object that carries the precompiled headers; see MlirHeaders.h.
