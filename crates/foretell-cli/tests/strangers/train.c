/* A program in C: with an argument more it flushes each line, without it the C library decides. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int count, char **words) {
    double top = 0.9 - 0.15 * fabs(log10(atof(words[1])) + 2);
    char name[64];
    snprintf(name, sizeof name, "counted-%s", getenv("FORETELL_TRIAL"));
    for (int epoch = 1; epoch <= 8; epoch++) {
        double value = top * (1 - pow(0.5, epoch));
        FILE *file = fopen(name, "a");
        fprintf(file, "%.4f\n", value);
        fclose(file);
        printf("epoch %d: loss %.4f val_acc %.4f\n", epoch, 1 - value, value);
        if (count > 2) fflush(stdout);
        usleep(50000);
    }
    return 0;
}
