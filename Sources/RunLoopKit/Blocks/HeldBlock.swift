/// A block in a struct: moved into an array or an optional by itself, the compiler (6.3) releases it once too often.
struct HeldBlock {
  let body: () -> Void
}
