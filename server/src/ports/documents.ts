export * from '@countersign/store-port/documents'
