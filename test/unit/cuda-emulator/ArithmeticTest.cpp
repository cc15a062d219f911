// Single instructions against values worked out by hand from the PTX manual. Every case has up to three inputs,
// which it finds in %d0 to %d2 (64 bits), %r0 to %r2 (their low 32) and %h0 to %h2 (their low 16), and leaves its
// result in %d3, %r3, %h3 or %p3. All cases are one kernel, so that one translation serves them all.
#include "test/unit/cuda-emulator/Emulator.h"

namespace nncc::cuemu::test {
namespace {

struct Case {
  const char *code;
  uint64_t inputs[3];
  uint64_t expected;
};

const Case cases[] = {
    // Integers.
    {"add.s32 %r3, %r0, %r1;", {0xffffffff, 2}, 1},
    {"add.sat.s32 %r3, %r0, %r1;", {0x7fffffff, 1}, 0x7fffffff},
    {"sub.sat.s32 %r3, %r0, %r1;", {0x80000000, 1}, 0x80000000},
    {"sub.u64 %d3, %d0, %d1;", {1, 2}, 0xffffffffffffffff},
    {"add.u16 %h3, %h0, %h1;", {0xffff, 2}, 1},
    {"mul.lo.s32 %r3, %r0, %r1;", {0x10001, 0x10001}, 0x20001},
    {"mul.hi.s32 %r3, %r0, %r1;", {0xffffffff, 2}, 0xffffffff},
    {"mul.hi.u32 %r3, %r0, %r1;", {0xffffffff, 2}, 1},
    {"mul.hi.u64 %d3, %d0, %d1;", {0x8000000000000000, 6}, 3},
    {"mul.wide.s32 %d3, %r0, %r1;", {0xffffffff, 3}, 0xfffffffffffffffd},
    {"mul.wide.u32 %d3, %r0, %r1;", {0xffffffff, 3}, 0x2fffffffd},
    {"mul.wide.u16 %r3, %h0, %h1;", {0xffff, 0xffff}, 0xfffe0001},
    {"mad.lo.s32 %r3, %r0, %r1, %r2;", {7, 0xfffffffe, 20}, 6},
    {"mad.wide.u32 %d3, %r0, %r1, %d2;", {0xffffffff, 2, 5}, 0x200000003},
    {"mad.hi.s32 %r3, %r0, %r1, %r2;", {0x40000000, 8, 1}, 3},
    {"mul24.lo.s32 %r3, %r0, %r1;", {0x00ffffff, 5}, 0xfffffffb},
    {"mad24.lo.u32 %r3, %r0, %r1, %r2;", {0xff000003, 4, 1}, 13},
    {"div.s32 %r3, %r0, %r1;", {0xfffffff9, 2}, 0xfffffffd},
    {"rem.s32 %r3, %r0, %r1;", {0xfffffff9, 2}, 0xffffffff},
    {"div.u32 %r3, %r0, %r1;", {0xfffffff9, 2}, 0x7ffffffc},
    {"div.s32 %r3, %r0, %r1;", {0x80000000, 0xffffffff}, 0x80000000},
    {"rem.u64 %d3, %d0, %d1;", {1000000000007, 10}, 7},
    {"min.s32 %r3, %r0, %r1;", {0xffffffff, 1}, 0xffffffff},
    {"max.u32 %r3, %r0, %r1;", {0xffffffff, 1}, 0xffffffff},
    {"abs.s32 %r3, %r0;", {0xfffffff0}, 16},
    {"neg.s64 %d3, %d0;", {5}, 0xfffffffffffffffb},
    {"sad.s32 %r3, %r0, %r1, %r2;", {0xfffffffd, 4, 10}, 17},
    {"dp4a.s32.s32 %r3, %r0, %r1, %r2;", {0xff020304, 0x01010101, 100}, 108},
    {"dp4a.u32.u32 %r3, %r0, %r1, %r2;", {0xff020304, 0x01010101, 100}, 364},
    {"dp2a.lo.s32.s32 %r3, %r0, %r1, %r2;", {0x0003fffe, 0x00000504, 1}, 8},
    {"add.cc.u32 %r3, %r0, %r1; addc.u32 %r3, %r2, 0;", {0xffffffff, 1, 7}, 8},
    {"sub.cc.u32 %r3, %r0, %r1; subc.u32 %r3, %r2, 0;", {0, 1, 7}, 6},
    {"mad.lo.cc.u32 %r3, %r0, %r1, %r2; madc.hi.u32 %r3, %r0, %r1, 0;", {0xffffffff, 2, 2}, 2},
    // Bits.
    {"shl.b32 %r3, %r0, %r1;", {3, 31}, 0x80000000},
    {"shl.b32 %r3, %r0, %r1;", {3, 32}, 0},
    {"shr.u32 %r3, %r0, %r1;", {0x80000000, 40}, 0},
    {"shr.s32 %r3, %r0, %r1;", {0x80000000, 40}, 0xffffffff},
    {"shr.s64 %d3, %d0, %r1;", {0x8000000000000000, 63}, 0xffffffffffffffff},
    {"shr.u16 %h3, %h0, %r1;", {0x8000, 15}, 1},
    {"shf.l.wrap.b32 %r3, %r0, %r1, %r2;", {0x80000000, 1, 33}, 3},
    {"shf.l.clamp.b32 %r3, %r0, %r1, %r2;", {0x80000001, 1, 40}, 0x80000001},
    {"shf.r.wrap.b32 %r3, %r0, %r1, %r2;", {0x10, 1, 4}, 0x10000001},
    {"shf.r.clamp.b32 %r3, %r0, %r1, %r2;", {0x10, 7, 32}, 7},
    {"bfe.u32 %r3, %r0, %r1, %r2;", {0xabcd1234, 8, 12}, 0xd12},
    {"bfe.s32 %r3, %r0, %r1, %r2;", {0xabcd1234, 24, 8}, 0xffffffab},
    {"bfe.s32 %r3, %r0, %r1, %r2;", {0xabcd1234, 28, 16}, 0xfffffffa},
    {"bfe.s32 %r3, %r0, %r1, %r2;", {0x0000f000, 12, 3}, 0xffffffff},
    {"bfe.u32 %r3, %r0, %r1, %r2;", {0xabcd1234, 40, 8}, 0},
    {"bfe.s64 %d3, %d0, %r1, %r2;", {0xff00, 8, 0}, 0},
    {"bfi.b32 %r3, %r0, %r1, 8, 4;", {0xff, 0x12345678}, 0x12345f78},
    {"bfi.b64 %d3, %d0, %d1, 60, 8;", {0xab, 0}, 0xb000000000000000},
    {"popc.b64 %r3, %d0;", {0xf0f0000000000001}, 9},
    {"clz.b32 %r3, %r0;", {0}, 32},
    {"clz.b64 %r3, %d0;", {1}, 63},
    {"brev.b32 %r3, %r0;", {0x00000001}, 0x80000000},
    {"bfind.u32 %r3, %r0;", {0x00008000}, 15},
    {"bfind.s32 %r3, %r0;", {0xffff7fff}, 15},
    {"bfind.shiftamt.u32 %r3, %r0;", {0x00008000}, 16},
    {"bfind.u32 %r3, %r0;", {0}, 0xffffffff},
    {"prmt.b32 %r3, %r0, %r1, 0x7250;", {0x33221100, 0x77665544}, 0x77225500},
    {"prmt.b32 %r3, %r0, %r1, 0x9810;", {0x0000ff80, 0}, 0xffffff80},
    {"prmt.b32.f4e %r3, %r0, %r1, %r2;", {0x33221100, 0x77665544, 1}, 0x44332211},
    {"prmt.b32.rc16 %r3, %r0, %r1, %r2;", {0x33221100, 0x77665544, 1}, 0x33223322},
    {"lop3.b32 %r3, %r0, %r1, %r2, 0x96;", {0xff00ff00, 0xf0f0f0f0, 0xcccccccc}, 0xc33cc33c},
    {"lop3.b32 %r3, %r0, %r1, %r2, 0xca;", {0xffff0000, 0x12345678, 0x9abcdef0}, 0x1234def0},
    {"not.b16 %h3, %h0;", {0x00ff}, 0xff00},
    {"cnot.b32 %r3, %r0;", {0}, 1},
    {"xor.b64 %d3, %d0, %d1;", {0xff, 0x0f}, 0xf0},
    {"bmsk.clamp.b32 %r3, %r0, %r1;", {4, 8}, 0xff0},
    {"szext.wrap.s32 %r3, %r0, %r1;", {0x1ff, 8}, 0xffffffff},
    // Predicates and selection.
    {"setp.lt.s32 %p3, %r0, %r1;", {0xffffffff, 0}, 1},
    {"setp.lo.u32 %p3, %r0, %r1;", {0xffffffff, 0}, 0},
    {"setp.eq.u32 %p1, 1, 1; setp.lt.and.s32 %p3|%p2, %r0, %r1, %p1;", {1, 2}, 1},
    {"setp.eq.u32 %p1, 1, 1; setp.lt.and.s32 %p2|%p3, %r0, %r1, !%p1;", {2, 1}, 0},
    {"setp.ltu.f32 %p3, %f0, %f1;", {0x7fc00000, 0}, 1},
    {"setp.lt.f32 %p3, %f0, %f1;", {0x7fc00000, 0}, 0},
    {"setp.nan.f32 %p3, %f0, %f1;", {0x7fc00000, 0}, 1},
    {"setp.eq.ftz.f32 %p3, %f0, %f1;", {0x00000001, 0}, 1},
    {"setp.gt.f16 %p3, %h0, %h1;", {0x3c00, 0xbc00}, 1},
    {"set.lt.u32.s32 %r3, %r0, %r1;", {1, 2}, 0xffffffff},
    {"set.gt.f32.s32 %f3, %r0, %r1; mov.b32 %r3, %f3;", {2, 1}, 0x3f800000},
    {"setp.ne.u32 %p1, %r0, 0; selp.b32 %r3, %r1, %r2, %p1;", {0, 5, 6}, 6},
    {"slct.b32.s32 %r3, %r0, %r1, %r2;", {5, 6, 0xffffffff}, 6},
    // f32: rounding modes, flushing, saturation, NaN.
    {"add.f32 %f3, %f0, %f1; mov.b32 %r3, %f3;", {0x3f800000, 0x33800000}, 0x3f800000},
    {"add.rp.f32 %f3, %f0, %f1; mov.b32 %r3, %f3;", {0x3f800000, 0x33800000}, 0x3f800001},
    {"add.rz.f32 %f3, %f0, %f1; mov.b32 %r3, %f3;", {0xbf800000, 0xb3c00000}, 0xbf800000},
    {"add.rm.f32 %f3, %f0, %f1; mov.b32 %r3, %f3;", {0xbf800000, 0xb3000000}, 0xbf800001},
    {"mul.ftz.f32 %f3, %f0, %f1; mov.b32 %r3, %f3;", {0x80800000, 0x3f000000}, 0x80000000},
    {"mul.f32 %f3, %f0, %f1; mov.b32 %r3, %f3;", {0x80800000, 0x3f000000}, 0x80400000},
    {"fma.rn.f32 %f3, %f0, %f1, %f2; mov.b32 %r3, %f3;", {0x3f800001, 0x3f800001, 0xbf800002}, 0x28800000},
    {"fma.rz.f32 %f3, %f0, %f1, %f2; mov.b32 %r3, %f3;", {0x3f800001, 0x3f800001, 0}, 0x3f800002},
    {"add.sat.f32 %f3, %f0, %f1; mov.b32 %r3, %f3;", {0x3f800000, 0x3f800000}, 0x3f800000},
    {"add.sat.f32 %f3, %f0, %f1; mov.b32 %r3, %f3;", {0x7fc00000, 0x3f800000}, 0},
    {"div.rn.f32 %f3, %f0, %f1; mov.b32 %r3, %f3;", {0x3f800000, 0x40400000}, 0x3eaaaaab},
    {"div.rz.f32 %f3, %f0, %f1; mov.b32 %r3, %f3;", {0x3f800000, 0x40400000}, 0x3eaaaaaa},
    {"sqrt.rn.f32 %f3, %f0; mov.b32 %r3, %f3;", {0x40000000}, 0x3fb504f3},
    {"sqrt.rp.f32 %f3, %f0; mov.b32 %r3, %f3;", {0x40000000}, 0x3fb504f4},
    {"rsqrt.approx.f32 %f3, %f0; mov.b32 %r3, %f3;", {0x40800000}, 0x3f000000},
    {"rcp.approx.ftz.f32 %f3, %f0; mov.b32 %r3, %f3;", {0x00000001}, 0x7f800000},
    {"ex2.approx.f32 %f3, %f0; mov.b32 %r3, %f3;", {0x40400000}, 0x41000000},
    {"lg2.approx.f32 %f3, %f0; mov.b32 %r3, %f3;", {0x41000000}, 0x40400000},
    {"sin.approx.f32 %f3, %f0; mov.b32 %r3, %f3;", {0}, 0},
    {"cos.approx.f32 %f3, %f0; mov.b32 %r3, %f3;", {0}, 0x3f800000},
    {"tanh.approx.f32 %f3, %f0; mov.b32 %r3, %f3;", {0x42c80000}, 0x3f800000},
    {"min.f32 %f3, %f0, %f1; mov.b32 %r3, %f3;", {0x7fc00000, 0x40000000}, 0x40000000},
    {"max.f32 %f3, %f0, %f1; mov.b32 %r3, %f3;", {0x80000000, 0x00000000}, 0},
    {"max.NaN.f32 %f3, %f0, %f1; setp.nan.f32 %p3, %f3, %f3;", {0x7fc00000, 0x40000000}, 1},
    {"min.xorsign.abs.f32 %f3, %f0, %f1; mov.b32 %r3, %f3;", {0xc0400000, 0x40000000}, 0xc0000000},
    {"abs.f32 %f3, %f0; mov.b32 %r3, %f3;", {0xbf800000}, 0x3f800000},
    {"neg.f32 %f3, %f0; mov.b32 %r3, %f3;", {0}, 0x80000000},
    {"copysign.f32 %f3, %f0, %f1; mov.b32 %r3, %f3;", {0x80000000, 0x3f800000}, 0xbf800000},
    {"testp.subnormal.f32 %p3, %f0;", {1}, 1},
    {"testp.finite.f32 %p3, %f0;", {0x7f800000}, 0},
    // f64.
    {"add.f64 %g3, %g0, %g1; mov.b64 %d3, %g3;", {0x3ff0000000000000, 0x4000000000000000}, 0x4008000000000000},
    {"fma.rn.f64 %g3, %g0, %g1, %g1; mov.b64 %d3, %g3;", {0x4000000000000000, 0x3ff0000000000000}, 0x4008000000000000},
    {"sqrt.rn.f64 %g3, %g0; mov.b64 %d3, %g3;", {0x4010000000000000}, 0x4000000000000000},
    // f16 and bf16.
    {"add.f16 %h3, %h0, %h1;", {0x3c00, 0x1000}, 0x3c00},
    {"add.f16 %h3, %h0, %h1;", {0x7bff, 0x5000}, 0x7c00},
    {"mul.f16x2 %r3, %r0, %r1;", {0x40003c00, 0xc0004200}, 0xc4004200},
    {"fma.rn.f16 %h3, %h0, %h1, %h2;", {0x3c01, 0x3c01, 0xbc02}, 0x0010},
    {"fma.rn.relu.f16 %h3, %h0, %h1, %h2;", {0x3c00, 0xbc00, 0}, 0},
    {"fma.rn.bf16x2 %r3, %r0, %r1, %r2;", {0x3f803f80, 0x40004040, 0x3f80bf80}, 0x40404000},
    {"max.f16 %h3, %h0, %h1;", {0x7e00, 0x3c00}, 0x3c00},
    {"neg.bf16x2 %r3, %r0;", {0x3f80bf80}, 0xbf803f80},
    {"sub.bf16 %h3, %h0, %h1;", {0x4040, 0x3f80}, 0x4000},
    {"ex2.approx.f16 %h3, %h0;", {0x4000}, 0x4400},
    // Conversions.
    {"cvt.s32.s16 %r3, %h0;", {0x8000}, 0xffff8000},
    {"cvt.u32.u8 %r3, %h0;", {0x1ff}, 0xff},
    {"cvt.s8.s32 %r3, %r0;", {0x80}, 0xffffff80},
    {"cvt.sat.s8.s32 %r3, %r0;", {300}, 127},
    {"cvt.sat.u8.s32 %r3, %r0;", {0xffffff00}, 0},
    {"cvt.u64.u32 %d3, %r0;", {0xffffffff}, 0xffffffff},
    {"cvt.rni.s32.f32 %r3, %f0;", {0x40200000}, 2},
    {"cvt.rzi.s32.f32 %r3, %f0;", {0xc0300000}, 0xfffffffe},
    {"cvt.rmi.s32.f32 %r3, %f0;", {0xc0300000}, 0xfffffffd},
    {"cvt.rpi.s32.f32 %r3, %f0;", {0x40100000}, 3},
    {"cvt.rzi.s32.f32 %r3, %f0;", {0x501502f9}, 0x7fffffff},
    {"cvt.rzi.u32.f32 %r3, %f0;", {0xbf800000}, 0},
    {"cvt.rzi.s32.f32 %r3, %f0;", {0x7fc00000}, 0},
    {"cvt.rzi.s64.f32 %d3, %f0;", {0x7fc00000}, 0x8000000000000000},
    {"cvt.rni.f32.f32 %f3, %f0; mov.b32 %r3, %f3;", {0x40600000}, 0x40800000},
    {"cvt.rn.f32.s32 %f3, %r0; mov.b32 %r3, %f3;", {0x01000001}, 0x4b800000},
    {"cvt.rp.f32.s32 %f3, %r0; mov.b32 %r3, %f3;", {0x01000001}, 0x4b800001},
    {"cvt.rn.f32.u64 %f3, %d0; mov.b32 %r3, %f3;", {0x8000000000000000}, 0x5f000000},
    {"cvt.sat.f32.f32 %f3, %f0; mov.b32 %r3, %f3;", {0x40000000}, 0x3f800000},
    {"cvt.f64.f32 %g3, %f0; mov.b64 %d3, %g3;", {0x3fc00000}, 0x3ff8000000000000},
    {"cvt.rn.f32.f64 %f3, %g0; mov.b32 %r3, %f3;", {0x3ff0000010000000}, 0x3f800000},
    {"cvt.rp.f32.f64 %f3, %g0; mov.b32 %r3, %f3;", {0x3ff0000010000000}, 0x3f800001},
    {"cvt.rn.f16.f32 %h3, %f0;", {0x3f801000}, 0x3c00},
    {"cvt.rn.f16.f32 %h3, %f0;", {0x3f803000}, 0x3c02},
    {"cvt.rz.f16.f32 %h3, %f0;", {0x477fffff}, 0x7bff},
    {"cvt.rn.f16.f32 %h3, %f0;", {0x33800000}, 0x0001},
    {"cvt.f32.f16 %f3, %h0; mov.b32 %r3, %f3;", {0x0001}, 0x33800000},
    {"cvt.rn.bf16.f32 %h3, %f0;", {0x3f808000}, 0x3f80},
    {"cvt.rn.bf16.f32 %h3, %f0;", {0x3f818000}, 0x3f82},
    {"cvt.rz.bf16.f32 %h3, %f0;", {0x3f81ffff}, 0x3f81},
    {"cvt.rn.f16x2.f32 %r3, %f0, %f1;", {0x3f800000, 0x40000000}, 0x3c004000},
    {"cvt.rn.relu.bf16x2.f32 %r3, %f0, %f1;", {0xbf800000, 0x40000000}, 0x00004000},
    {"cvt.rna.tf32.f32 %r3, %f0;", {0x3f801000}, 0x3f802000},
    {"cvt.pack.sat.s8.s32.b32 %r3, %r0, %r1, %r2;", {300, 0xffffff00, 0x1234}, 0x12347f80},
    {"cvt.rn.f16.s32 %h3, %r0;", {2049}, 0x6800},
    // Moves.
    {"mov.b64 %d3, {%r0, %r1};", {1, 2}, 0x200000001},
    {"mov.b64 {%r4, %r3}, %d0;", {0x300000004}, 3},
    {"mov.b32 %r3, {%h0, %h1};", {1, 2}, 0x20001},
};

using Arithmetic = EmulatorTest;

TEST_F(Arithmetic, everyInstructionGivesTheManualsResult) {
  std::string text = ptxModule(".visible .entry k(.param .u64 in, .param .u64 out) {\n.reg .b64 %in; .reg .b64 %out;\n"
                               "ld.param.u64 %in, [in]; ld.param.u64 %out, [out];\n");
  std::vector<uint64_t> inputs;
  for (size_t i = 0; i < std::size(cases); i++) {
    const Case &each = cases[i];
    inputs.insert(inputs.end(), each.inputs, each.inputs + 3);
    text += "{ .reg .b64 %d<5>; .reg .b32 %r<5>; .reg .b16 %h<5>; .reg .f32 %f<5>; .reg .f64 %g<5>; .reg .pred %p<4>;\n";
    for (size_t k = 0; k < 3; k++) {
      std::string n = std::to_string(k);
      // Volatile, so that LLVM computes at run time.
      text += "ld.volatile.global.u64 %d" + n + ", [%in+" + std::to_string((3 * i + k) * 8) + "]; cvt.u32.u64 %r" + n +
              ", %d" + n + "; cvt.u16.u64 %h" + n + ", %d" + n + "; mov.b32 %f" + n + ", %r" + n + "; mov.b64 %g" + n +
              ", %d" + n + ";\n";
    }
    std::string code = each.code;
    text += code;
    if (code.find("%p3") != std::string::npos)
      text += "selp.u64 %d3, 1, 0, %p3;";
    else if (code.find("%h3") != std::string::npos)
      text += "cvt.u64.u16 %d3, %h3;";
    else if (code.find("%r3") != std::string::npos)
      text += "cvt.u64.u32 %d3, %r3;";
    text += "\nst.global.u64 [%out+" + std::to_string(8 * i) + "], %d3; }\n";
  }
  text += "ret;\n}\n";
  Buffer<uint64_t> in(inputs), out(std::size(cases));
  ASSERT_EQ(run(function(load(text), "k"), {1, 1}, in.address, out.address), CUDA_SUCCESS);
  std::vector<uint64_t> results = out.read();
  for (size_t i = 0; i < std::size(cases); i++)
    EXPECT_EQ(results[i], cases[i].expected)
        << std::hex << cases[i].code << " of 0x" << cases[i].inputs[0] << ", 0x" << cases[i].inputs[1] << ", 0x"
        << cases[i].inputs[2] << " gave 0x" << results[i] << ", expected 0x" << cases[i].expected;
}

} // namespace
} // namespace nncc::cuemu::test
