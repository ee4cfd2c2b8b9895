// Package hostile has no code: its tests set strangers and dishonest peers on assembled daemons, with a real local node,
// and ask whether honest ones come to harm.
package hostile
