import { openInNewDatabase } from './open-mongo-store.js'
import { storeSuite } from '../store-suite.js'

storeSuite('the store on MongoDB', openInNewDatabase)
