/** All draws of the model of live events: the quick tier makes a fifth of them. */
import './live-events.test.js'
