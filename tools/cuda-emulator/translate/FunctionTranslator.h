// Translates the body of one PTX function into LLVM IR. A register is a stack slot of its width, which
// LLVM promotes; an instruction is looked up by its opcode in one table of member functions, which stand
// by family in the files of this folder. Each takes the modifiers that it knows from the instruction and
// refuses what is left.
#pragma once

#include "tools/cuda-emulator/exec/FloatHelpers.h"
#include "tools/cuda-emulator/exec/ThreadContext.h"
#include "tools/cuda-emulator/translate/Modifiers.h"
#include "tools/cuda-emulator/translate/ModuleTranslator.h"

#include "llvm/IR/IRBuilder.h"

#include <functional>
#include <unordered_map>

namespace nncc::cuemu {

class FunctionTranslator {
public:
  FunctionTranslator(ModuleTranslator &parent, const ptx::Function &function,
                     llvm::Function *llvmFunction, Kernel *kernel);

  void translate();

private:
  using Handler = void (FunctionTranslator::*)(Modifiers &);
  using Table = std::unordered_map<std::string, Handler>;
  using Type = ptx::Type;
  using Space = ptx::Space;
  using Operand = ptx::Operand;
  using Values = llvm::SmallVector<llvm::Value *, 4>;

  static const Table &handlers();
  static void addIntegerHandlers(Table &table);
  static void addBitHandlers(Table &table);
  static void addFloatHandlers(Table &table);
  static void addMoveHandlers(Table &table);
  static void addMemoryHandlers(Table &table);
  static void addControlHandlers(Table &table);
  static void addWarpHandlers(Table &table);
  static void addMatrixHandlers(Table &table);

  // --- Names and registers (FunctionTranslator.cpp).
  struct Symbol {
    enum class Kind : uint8_t { Register, Memory };
    Kind kind = Kind::Register;
    Type type = Type::None;
    Space space = Space::Generic;         ///< of Memory
    llvm::AllocaInst *slot = nullptr;     ///< of a Register
    llvm::Value *pointer = nullptr;       ///< of Memory that has a host pointer here
    llvm::Value *windowOffset = nullptr;  ///< of shared memory: i32 offset in the window
    int64_t sizeBytes = 0;
  };
  struct Scope {
    std::unordered_map<std::string, Symbol> names;
    std::vector<ptx::RegisterDeclaration> ranges;
  };

  void declareParameters();
  void createLabels();
  void countRegisterUses();
  void statement(const ptx::Statement &statement);
  void instruction(const ptx::Instruction &instruction);
  void declareVariable(const ptx::Variable &variable);
  void finishWithReturn();
  Symbol *find(const std::string &name);
  Symbol &lookUp(const std::string &name);
  Symbol makeRegister(Type type, const std::string &name);
  llvm::BasicBlock *label(const std::string &name);
  llvm::BasicBlock *newBlock(const char *name);
  [[noreturn]] void fail(const std::string &message) const;

  // --- Operands (Operands.cpp).
  void expectOperands(size_t least, size_t most = 0);
  const Operand &operand(size_t index) const { return current->operands[index]; }
  llvm::Type *llvmType(Type type);
  llvm::IntegerType *intType(int bits) { return builder.getIntNTy(static_cast<unsigned>(bits)); }
  /// The operand as a value of `type`: integers as iN, bf16 as i16, packed 16-bit floats as i32.
  llvm::Value *read(const Operand &operand, Type type);
  llvm::Value *readRaw(const Symbol &symbol, int bits);
  llvm::Value *readPredicate(const Operand &operand);
  llvm::Value *readLaneCount(const Operand &operand) { return read(operand, Type::U32); }
  /// Stores a value of `type` into a register at least as wide, extended as the type is signed.
  void write(const Operand &operand, Type type, llvm::Value *value);
  void writePredicate(const Operand &operand, llvm::Value *value);
  llvm::Value *specialRegister(const std::string &name);
  llvm::Value *contextField(size_t offsetBytes, llvm::Type *type);
  llvm::Value *addressOf(const Symbol &symbol, int bits);
  llvm::Value *constant(Type type, int64_t value);
  llvm::Value *toInt(llvm::Value *value);
  llvm::Value *toBits(llvm::Value *value, llvm::Type *type);
  llvm::CallInst *call(llvm::StringRef helper, llvm::Type *result, llvm::ArrayRef<llvm::Value *> arguments);
  llvm::Value *context() { return llvmFunction->getArg(0); }
  llvm::Value *site();

  // --- Integer arithmetic (Integer.cpp, Bits.cpp).
  void addSub(Modifiers &m);
  void addSubCarry(Modifiers &m);
  void mulMad(Modifiers &m);
  void mulMad24(Modifiers &m);
  void divRem(Modifiers &m);
  void minMax(Modifiers &m);
  void absNeg(Modifiers &m);
  void sad(Modifiers &m);
  void dotProduct(Modifiers &m);
  void logic(Modifiers &m);
  void shift(Modifiers &m);
  void funnelShift(Modifiers &m);
  void bitField(Modifiers &m);
  void bitCount(Modifiers &m);
  void bitFind(Modifiers &m);
  void permute(Modifiers &m);
  void logic3(Modifiers &m);
  void bitMask(Modifiers &m);
  void signExtend(Modifiers &m);
  void integerAddSub(Modifiers &m, Type type, bool isSub);

  // --- Floating point (Float.cpp, FloatFormats.cpp).
  struct FloatModes {
    Rounding rounding = Rounding::NearestEven;
    bool flush = false;    ///< .ftz
    bool saturate = false; ///< .sat
    bool relu = false;
  };
  FloatModes takeFloatModes(Modifiers &m);
  void floatArithmetic(Modifiers &m, Type type, FloatOp op);
  void floatMinMax(Modifiers &m, Type type, bool isMax);
  void floatAbsNeg(Modifiers &m, Type type, bool isNeg);
  void fma(Modifiers &m);
  void divFloat(Modifiers &m, Type type);
  void reciprocal(Modifiers &m);
  void squareRoot(Modifiers &m);
  void approximation(Modifiers &m);
  void copySign(Modifiers &m);
  void testProperty(Modifiers &m);
  llvm::Value *flushSubnormal(llvm::Value *value);
  llvm::Value *saturate(llvm::Value *value);
  llvm::Value *floatOperation(FloatOp op, Rounding rounding, llvm::Value *a, llvm::Value *b, llvm::Value *c);
  bool is16Bit(Type type) const;
  /// Applies `f` to the 16-bit lanes of the operands, widened to f32, and packs the rounded results.
  llvm::Value *mapHalves(Type type, llvm::ArrayRef<llvm::Value *> operands,
                         llvm::function_ref<llvm::Value *(llvm::ArrayRef<llvm::Value *>)> f);
  /// The same over the lanes' bits: `f` takes and gives i16.
  llvm::Value *mapHalfBits(Type type, llvm::ArrayRef<llvm::Value *> operands,
                           llvm::function_ref<llvm::Value *(llvm::ArrayRef<llvm::Value *>)> f);
  llvm::Value *halfToFloat(Type type, llvm::Value *bits);
  llvm::Value *floatToHalf(Type type, llvm::Value *value, Rounding rounding = Rounding::NearestEven);
  llvm::Value *roundToInteger(llvm::Value *value, Rounding rounding);

  // --- Moves, comparisons, conversions (Moves.cpp, Compare.cpp, Convert.cpp).
  void move(Modifiers &m);
  void convertAddress(Modifiers &m);
  void isSpace(Modifiers &m);
  void setPredicate(Modifiers &m);
  void set(Modifiers &m);
  void select(Modifiers &m);
  void selectBySign(Modifiers &m);
  void convert(Modifiers &m);
  void convertPack(Modifiers &m);
  void convertToPair(Modifiers &m, Type to, Rounding rounding, bool relu);
  llvm::Value *convertValue(llvm::Value *value, Type to, Type from, std::optional<Rounding> toIntegral,
                            Rounding rounding, bool flush, bool isSaturating);
  llvm::Value *compare(const std::string &comparison, Type type, const Operand &left, const Operand &right,
                       bool flush);
  llvm::Value *compareValues(const std::string &comparison, Type type, llvm::Value *a, llvm::Value *b);
  llvm::Value *combine(const std::string &boolean, llvm::Value *left, llvm::Value *right);

  // --- Memory (Memory.cpp, Atomics.cpp, AsyncCopy.cpp).
  struct MemoryModes {
    Space space = Space::Generic;
    bool isVolatile = false;
    bool isAtomic = false; ///< relaxed, acquire or release
    bool acquires = false;
    bool releases = false;
    int vectorSize = 1;
  };
  MemoryModes takeMemoryModes(Modifiers &m);
  void load(Modifiers &m);
  void store(Modifiers &m);
  void noEffect(Modifiers &m);
  void createPolicy(Modifiers &m);
  llvm::Value *pointer(const Operand &address, Space space);
  llvm::Value *checkedPointer(const Operand &address, Space space, int sizeBytes, uint32_t flags);
  void atomic(Modifiers &m);
  void fence(Modifiers &m);
  llvm::Value *atomicOperation(const std::string &op, Type type, llvm::Value *pointer, llvm::Value *operand,
                               llvm::AtomicOrdering ordering);
  llvm::Value *compareAndSwapLoop(int bits, llvm::Value *pointer, llvm::AtomicOrdering ordering,
                                  llvm::function_ref<llvm::Value *(llvm::Value *)> update);
  void copyAsync(Modifiers &m);

  // --- Control flow (Control.cpp).
  void branch(Modifiers &m);
  void branchIndexed(Modifiers &m);
  void returnOrExit(Modifiers &m);
  void trap(Modifiers &m);
  void callFunction(Modifiers &m);
  bool callBuiltin(const std::string &name, const Operand *results, const Operand *arguments);
  void barrier(Modifiers &m);
  void leaveFrame();

  // --- Warp collectives (Warp.cpp) and matrix instructions (Matrix.cpp).
  void shuffle(Modifiers &m);
  void vote(Modifiers &m);
  void match(Modifiers &m);
  void redux(Modifiers &m);
  void activeMask(Modifiers &m);
  void electOne(Modifiers &m);
  void nanosleep(Modifiers &m);
  void matrixMultiply(Modifiers &m);
  void loadMatrix(Modifiers &m);
  void storeMatrix(Modifiers &m);
  void moveMatrix(Modifiers &m);
  llvm::Value *fragment(const Operand &operand, bool isFilled);

  ModuleTranslator &parent;
  const ptx::Function &function;
  llvm::Function *llvmFunction;
  Kernel *kernel;
  llvm::IRBuilder<> builder;
  llvm::BasicBlock *entryBlock = nullptr;
  llvm::AllocaInst *carry = nullptr;
  std::vector<Scope> scopes;
  std::unordered_map<std::string, llvm::BasicBlock *> labels;
  std::unordered_map<std::string, std::vector<std::string>> branchTargets;
  std::unordered_map<std::string, int> floatVotes; ///< by register: uses as f32/f64 less uses as integer
  std::vector<llvm::AllocaInst *> localVariables;
  const ptx::Instruction *current = nullptr;
  int currentLine = 0;
};

} // namespace nncc::cuemu
