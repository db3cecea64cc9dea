package main

func publish(string) error { return nil }
