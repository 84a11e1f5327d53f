/** The parts of the store that tests of whole servers break on purpose or look into. The package does not export them. */
export { accountId } from '#store-mongodb/budgets/account-id'
export { Database } from '#store-mongodb/connection/database'
export { MongoStore } from '#store-mongodb/mongo-store'
export type { AccountDocument } from '#store-mongodb/stored'
