export { type Moment, msBetween, msSince, thisMoment } from './moment.js'
export { type Poll, type PollOptions, poll } from './poll.js'
export { SerialQueue } from './serial-queue.js'
export { withDeadline } from './with-deadline.js'
