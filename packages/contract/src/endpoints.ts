/**
 * The endpoints alone. The build writes them out as plain data, so that a program that calls them does not load the
 * schemas.
 */
export * from './operations/endpoints.js'
