export { every } from './every.js'
export { type Moment, msBetween, msSince, thisMoment } from './moment.js'
