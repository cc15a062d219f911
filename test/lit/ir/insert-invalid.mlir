// What is refused, and the constraint that each message names.
// RUN: nncc-opt %s -split-input-file -verify-diagnostics

func.func @f(%x: tensor<4x8xf32>) {
  %y = nn.kernel "k" (%a = %x : tensor<4x8xf32>) -> tensor<5x24xf32> {
    // expected-error@+1 {{insert_c1: f32[4, 8] does not fit into f32[5, 24] along dimension 1}}
    %1 = nn.insert %a {axis = 1, offset = 0} : (tensor<4x8xf32>) -> tensor<5x24xf32>
    nn.yield %1 : tensor<5x24xf32>
  }
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  %y = nn.kernel "k" (%a = %x : tensor<4x8xf32>) -> tensor<4x24xi32> {
    // expected-error@+1 {{insert_c1: f32[4, 8] does not fit into i32[4, 24] along dimension 1}}
    %1 = nn.insert %a {axis = 1, offset = 0} : (tensor<4x8xf32>) -> tensor<4x24xi32>
    nn.yield %1 : tensor<4x24xi32>
  }
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  %y = nn.kernel "k" (%a = %x : tensor<4x8xf32>) -> tensor<4x24xf32> {
    // expected-error@+1 {{insert_c2: axis must be one of the result's 2 dimensions, found 2}}
    %1 = nn.insert %a {axis = 2, offset = 0} : (tensor<4x8xf32>) -> tensor<4x24xf32>
    nn.yield %1 : tensor<4x24xf32>
  }
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  %y = nn.kernel "k" (%a = %x : tensor<4x8xf32>) -> tensor<4x24xf32> {
    // expected-error@+1 {{insert_c2: dimension 1 of f32[4, 8] at offset 17 must lie within that of f32[4, 24]}}
    %1 = nn.insert %a {axis = 1, offset = 17} : (tensor<4x8xf32>) -> tensor<4x24xf32>
    nn.yield %1 : tensor<4x24xf32>
  }
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  %y = nn.kernel "k" (%a = %x : tensor<4x8xf32>) -> tensor<4x24xf32> {
    // expected-error@+1 {{insert_c2: dimension 1 of f32[4, 8] at offset -1 must lie within}}
    %1 = nn.insert %a {axis = 1, offset = -1} : (tensor<4x8xf32>) -> tensor<4x24xf32>
    nn.yield %1 : tensor<4x24xf32>
  }
  return
}

// -----

func.func @f(%x: tensor<?x8xf32, #nn.enc<[N]>>) {
  %y = nn.kernel "k" (%a = %x : tensor<?x8xf32, #nn.enc<[N]>>) -> tensor<4x8xf32> {
    // expected-error@+1 {{insert_c2: dimension 0 of f32[N, 8] at offset 0 must lie within}}
    %1 = nn.insert %a {axis = 0, offset = 0} : (tensor<?x8xf32, #nn.enc<[N]>>) -> tensor<4x8xf32>
    nn.yield %1 : tensor<4x8xf32>
  }
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>, %dest: tensor<4x25xf32>) {
  %y = nn.kernel "k" (%a = %x : tensor<4x8xf32>, %d = %dest : tensor<4x25xf32>) -> tensor<4x24xf32> attributes {in_place = 1 : i64} {
    // expected-error@+1 {{insert_c3: dest must have the result's type and be the operand that the kernel overwrites in place}}
    %1 = nn.insert %a into %d {axis = 1, offset = 0} : (tensor<4x8xf32>, tensor<4x25xf32>) -> tensor<4x24xf32>
    nn.yield %1 : tensor<4x24xf32>
  }
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>, %dest: tensor<4x24xf32>) {
  %y = nn.kernel "k" (%a = %x : tensor<4x8xf32>, %d = %dest : tensor<4x24xf32>) -> tensor<4x24xf32> {
    // expected-error@+1 {{insert_c3: dest must have the result's type and be the operand that the kernel overwrites in place}}
    %1 = nn.insert %a into %d {axis = 1, offset = 0} : (tensor<4x8xf32>, tensor<4x24xf32>) -> tensor<4x24xf32>
    nn.yield %1 : tensor<4x24xf32>
  }
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  %y = nn.kernel "k" (%a = %x : tensor<4x8xf32>) -> tensor<4x24xf32> {
    // expected-error@+1 {{insert_c4: the result must be yielded by the kernel around it, and not be read otherwise}}
    %1 = nn.insert %a {axis = 1, offset = 0} : (tensor<4x8xf32>) -> tensor<4x24xf32>
    %2 = nn.relu %1 : tensor<4x24xf32>
    nn.yield %2 : tensor<4x24xf32>
  }
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{insert_c4: the result must be yielded by the kernel around it, and not be read otherwise}}
  %1 = nn.insert %x {axis = 1, offset = 0} : (tensor<4x8xf32>) -> tensor<4x24xf32>
  return
}
