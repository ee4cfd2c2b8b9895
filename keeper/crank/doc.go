// Package crank finds and sends what anyone may send because state and time allow it: apply report leaves, settle, end,
// expire, abort, slash, close. Due is a pure function of the accounts, the time and the final leaf sets; Runner sends
// what it returns.
//
// Several keepers crank the same market. Each waits its rank times a step (package schedule) before it tries an action,
// and a refusal that means that the action is done already counts as success (Benign).
package crank
