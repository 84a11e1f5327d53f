export * from '@countersign/store-port/store'
