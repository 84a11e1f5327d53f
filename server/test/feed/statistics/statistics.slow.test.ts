/** The same with all draws. */
import './statistics.test.js'
