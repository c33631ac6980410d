# A program in awk, which holds its output back in a pipe: awk -v lr=0.01 -f train.awk
BEGIN {
    distance = log(lr) / log(10) + 2; if (distance < 0) distance = -distance
    name = "counted-" ENVIRON["FORETELL_TRIAL"]
    for (epoch = 1; epoch <= 8; epoch++) {
        value = sprintf("%.4f", (0.9 - 0.15 * distance) * (1 - 0.5 ^ epoch))
        print value >> name; fflush(name)
        print "epoch " epoch " val_acc " value
        for (i = 0; i < 1000000; i++) work += i
    }
}
