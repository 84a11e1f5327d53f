/** What is drawn at random, with all draws: the quick tier makes a fifth of them. */
import './agreement.test.js'
import './budget-agreement.test.js'
import './explanation.test.js'
import './lint.test.js'
import './metamorphic.test.js'
