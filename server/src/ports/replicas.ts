export * from '@countersign/store-port/replicas'
