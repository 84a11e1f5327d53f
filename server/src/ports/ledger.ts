export * from '@countersign/store-port/ledger'
