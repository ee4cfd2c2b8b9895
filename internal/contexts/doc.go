// Package contexts keeps the contexts of the gantry command, and finds the settings of a run: from flags, the environment, a
// context and the settings of `solana config`. A context is a name for the settings of one market and wallet.
package contexts
