// Package crank finds and sends what anyone may send because state and time allow it: apply report leaves, settle, end,
// expire, abort, slash, close. Due is a pure function of the accounts, the time and the final leaf sets; Runner sends
// what it returns.
//
// Several keepers crank the same market. Each keeper waits its rank times a step (package schedule) before it tries an
// action. A refusal counts as success if it means that the action is already done (Benign).
package crank
