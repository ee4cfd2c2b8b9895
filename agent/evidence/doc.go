// Package evidence is where an agent's evidence comes from: the hardware of its machine, as package collect asks for it.
package evidence
