export { stress } from './stress.js'
