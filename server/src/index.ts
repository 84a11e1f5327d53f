export { type Config, ConfigError, readConfig } from './config.js'
export { type Countersign, type CountersignOptions, createCountersign } from './create-countersign.js'
export { type Started, StoreNotClosedError, start } from './start.js'
