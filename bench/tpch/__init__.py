"""TPC-H, hot, results delivered to the client: how long does each of the 22 queries take in each engine?"""
