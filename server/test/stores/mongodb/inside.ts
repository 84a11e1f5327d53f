/** The parts of the store that tests of whole servers break on purpose or look into. The package does not export them. */
export { accountId } from '#server/stores/mongodb/budgets/account-id'
export { Database } from '#server/stores/mongodb/connection/database'
export { MongoStore } from '#server/stores/mongodb/mongo-store'
export type { AccountDocument } from '#server/stores/mongodb/stored'
