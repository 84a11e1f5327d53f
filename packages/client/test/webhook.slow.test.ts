/** What is drawn at random, with all draws: the quick tier makes a fifth of them. */
import './webhook.test.js'
