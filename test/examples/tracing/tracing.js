/** Sends the spans of Usher to the collector of OTEL_EXPORTER_OTLP_ENDPOINT, by default http://localhost:4318. */
import process from 'node:process';
import { NodeSDK } from '@opentelemetry/sdk-node';

const sdk = new NodeSDK({ serviceName: 'usher' });
sdk.start();
process.once('SIGTERM', () => sdk.shutdown());
