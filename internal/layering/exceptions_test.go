package layering

// exceptions are what breaks a rule and may, with the reason. One that is not needed any more fails the test.
var exceptions = map[string]string{
	"keeper/evidence imports agent/evidence": "a test of both ends: a keeper judges the bundle that the agent's collector makes",

	// To be shortened.
	"program/src/events.rs": "one declaration of each event; to be split by what they are about",
}
