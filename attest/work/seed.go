package work

// Seed fixes both factors of a product.
type Seed [32]byte
