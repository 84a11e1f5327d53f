/** What is drawn at random, with all draws: the quick tier makes a fifth of them. */
import './mutations.test.js'
